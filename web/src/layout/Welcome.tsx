import { ActionIcon } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { mayMake, useMe } from '~/api/members';
import { WORKSPACE } from '~/api/workspace';
import { Card } from '~/components/Card';
import { CodeBlock } from '~/components/CodeBlock';
import { CopyButton } from '~/components/CopyButton';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './welcome.module.css';

const STORAGE_KEY = 'onetool-welcome';
/** What an MCP client on this machine needs. */
const CLIENT_SETTINGS = '{"mcpServers": {"onetool": {"command": "onetool", "args": ["mcp"]}}}';

/** What OneTool is, and three ways to start. Shown until the user dismisses it, once in each browser. */
export function Welcome() {
  const { common, welcome: texts } = useMessages();
  const me = useMe().data;
  const [isShown, setShown] = useState(() => localStorage.getItem(STORAGE_KEY) === null);
  if (!isShown || (WORKSPACE && !me)) return null;
  const dismiss = () => {
    localStorage.setItem(STORAGE_KEY, 'seen');
    setShown(false);
  };
  return (
    <Card className={css.welcome}>
      <section aria-label={texts.title}>
        <div className={css.head}>
          <h2>{texts.title}</h2>
          <ActionIcon variant="subtle" color="gray" aria-label={texts.dismiss} title={texts.dismiss} onClick={dismiss}>
            <Icon name="close" />
          </ActionIcon>
        </div>
        <p>{texts.lead}</p>
        <ul>
          {(!WORKSPACE || mayMake(me)) && (
            <li>
              <Link href="/servers?add">{texts.server}</Link>
              <p>{texts.serverHint}</p>
            </li>
          )}
          <li>
            <Link href="/tools?q=time.now">{texts.tool}</Link>
            <p>{texts.toolHint}</p>
          </li>
          <li>
            {WORKSPACE ? <Link href="/keys">{texts.assistant}</Link> : <strong>{texts.assistant}</strong>}
            <p>{WORKSPACE ? texts.keyHint : texts.assistantHint}</p>
            {!WORKSPACE && (
              <>
                <CodeBlock label={texts.assistant}>{CLIENT_SETTINGS}</CodeBlock>
                <CopyButton text={CLIENT_SETTINGS}>{common.copy}</CopyButton>
              </>
            )}
          </li>
        </ul>
      </section>
    </Card>
  );
}
