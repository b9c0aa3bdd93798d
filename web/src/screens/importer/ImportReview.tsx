import { Button, Group } from '@mantine/core';
import { Link, useLocation } from 'wouter';
import { type ImportResult, useDeleteBundle, useToggleBundle } from '~/api/tools';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { ImportedTools } from './ImportedTools';
import { ItemList } from './ItemList';
import css from './importer.module.css';

/** Shows what was imported, so that the user can decide whether to enable it. */
export function ImportReview({ result }: { result: ImportResult }) {
  const messages = useMessages();
  const [, navigate] = useLocation();
  const toggle = useToggleBundle();
  const deletion = useDeleteBundle();
  const { bundle } = result;
  const name = bundle.displayName || bundle.slug;
  const handleEnabled = () => {
    notify(messages.importer.enabled(name));
    navigate('/tools');
  };
  return (
    <Card>
      <h2 className={css.heading}>{messages.importer.reviewTitle}</h2>
      <p>{messages.importer.summary(result.tools, name)}</p>
      <ItemList title={messages.importer.warnings} items={result.warnings} tone="warning" />
      <ItemList title={messages.importer.hosts} items={result.hosts} />
      <ItemList title={messages.importer.secrets} items={result.secrets} />
      <ItemList title={messages.importer.skipped} items={result.skipped} />
      <h3 className={css.heading}>{messages.importer.tools}</h3>
      <ImportedTools bundleID={bundle.id} />
      {toggle.error || deletion.error ? <ErrorNotice error={toggle.error ?? deletion.error} /> : null}
      <Group mt="lg">
        <Button
          loading={toggle.isPending}
          onClick={() => toggle.mutate({ id: bundle.id, isEnabled: true }, { onSuccess: handleEnabled })}
        >
          {messages.importer.enable}
        </Button>
        <Button variant="default" component={Link} href="/tools">
          {messages.importer.keepDisabled}
        </Button>
        <Button
          variant="subtle"
          color="red"
          loading={deletion.isPending}
          onClick={() => deletion.mutate(bundle.id, { onSuccess: () => navigate('/tools') })}
        >
          {messages.importer.discard}
        </Button>
      </Group>
    </Card>
  );
}
