// Tools that a server has changed: what is different, and whether that is all right.
import { Button } from '@mantine/core';
import { type HeldBackTool, type Server, useApprove, useHeldBack } from '~/api/system';
import { useWords } from '~/i18n';
import { tell } from '~/parts/notify';
import { Failed, Note, Shown } from '~/parts/parts';
import css from './servers.module.css';

export function HeldBack({ server }: { server: Server }) {
  const words = useWords();
  const held = useHeldBack(server.name, true);
  const approving = useApprove(server.name);
  const approve = (tools: HeldBackTool[]) => {
    const seen = Object.fromEntries(tools.map((tool) => [tool.name, tool.pin]));
    approving.mutate(seen, { onSuccess: () => tell(words.servers.approved(Object.keys(seen).join(', '))) });
  };
  return (
    <>
      <Note mood="warn">{words.servers.heldBackHint}</Note>
      {approving.error ? <Failed error={approving.error} /> : null}
      <Shown asked={held}>
        {(tools) => (
          <>
            {tools.map((tool) => (
              <article key={tool.name} className={css.held} aria-label={tool.name}>
                <div className={css.head}>
                  <h3>{tool.name}</h3>
                  <span className={css.soft}>{tool.reason}</span>
                  <span className={css.spring} />
                  <Button size="compact-sm" loading={approving.isPending} onClick={() => approve([tool])}>
                    {words.servers.approve}
                  </Button>
                </div>
                {tool.difference && <Difference text={tool.difference} />}
              </article>
            ))}
            {tools.length > 1 && (
              <Button size="compact-sm" variant="default" onClick={() => approve(tools)}>
                {words.servers.approveAll}
              </Button>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Difference({ text }: { text: string }) {
  const words = useWords();
  const kind = (line: string) => (/^[+-](?![+-])/.test(line) ? line[0] : undefined);
  return (
    <pre className={css.difference} tabIndex={0} role="region" aria-label={words.servers.difference}>
      {text.split('\n').map((line, at) => (
        <span key={at} data-kind={kind(line)}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
