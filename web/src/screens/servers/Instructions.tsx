import { useServer } from '~/api/servers';
import { CodeBlock } from '~/components/CodeBlock';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';

/** The instructions of a server for models, if it has any. */
export function Instructions({ server }: { server: string }) {
  const messages = useMessages();
  return (
    <QueryView query={useServer(server)}>
      {({ instructions }) =>
        instructions.text ? (
          <>
            <h3>{messages.servers.instructions}</h3>
            <CodeBlock label={messages.servers.instructions}>{instructions.text}</CodeBlock>
          </>
        ) : null
      }
    </QueryView>
  );
}
