import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { useFinishLogin } from '~/api/connections';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { PageHeader } from '~/components/PageHeader';
import { useMessages } from '~/i18n';

const PARAMETERS = ['code', 'iss', 'error', 'error_description'] as const;

/** Completes a login when the provider sends the browser back. The code leaves the address bar at once. */
export default function ConnectionCallback() {
  const texts = useMessages().connections;
  const [, navigate] = useLocation();
  const finishing = useFinishLogin();
  const isBegun = useRef(false);
  const { mutateAsync } = finishing;
  useEffect(() => {
    if (isBegun.current) return;
    isBegun.current = true;
    const search = new URLSearchParams(location.search);
    history.replaceState(null, '', location.pathname);
    const body = { state: search.get('state') ?? '' } as Record<string, string> & { state: string };
    for (const name of PARAMETERS) {
      const value = search.get(name);
      if (value) body[name] = value;
    }
    void mutateAsync(body).then(
      ({ server }) => navigate(`/connections?connected=${encodeURIComponent(server)}`, { replace: true }),
      () => {},
    );
  }, [mutateAsync, navigate]);
  return (
    <>
      <PageHeader title={texts.title} />
      {finishing.error ? (
        <>
          <ErrorNotice error={finishing.error} />
          <p>
            <Link href="/connections">{texts.back}</Link>
          </p>
        </>
      ) : (
        <Loading />
      )}
    </>
  );
}
