import type { Schemas } from '~/api/client';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './servers.module.css';

/** The outcome and the steps of a connection test. */
export function ProbeResult({ result }: { result: Schemas['ProbeResponse'] }) {
  const messages = useMessages();
  return (
    <Notice tone={result.ok ? 'success' : 'danger'}>
      {result.ok
        ? messages.servers.probeSucceeded(result, result.seconds)
        : messages.servers.probeFailed(result.reason)}
      <ol className={css.steps}>
        {result.steps.map(({ name, detail, seconds }) => (
          <li key={name}>
            {seconds.toFixed(1)} s · {name}: <code>{detail}</code>
          </li>
        ))}
      </ol>
    </Notice>
  );
}
