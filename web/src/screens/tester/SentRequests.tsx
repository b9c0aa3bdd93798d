import { CodeBlock } from '~/components/CodeBlock';
import { useMessages } from '~/i18n';
import css from './tester.module.css';

export function SentRequests({ requests }: { requests: string[] }) {
  const messages = useMessages();
  if (requests.length === 0) return null;
  return (
    <section className={css.section}>
      <h3>{messages.tester.sentRequest}</h3>
      {requests.map((request, index) => (
        <CodeBlock key={index} label={messages.tester.sentRequest}>
          {request}
        </CodeBlock>
      ))}
    </section>
  );
}
