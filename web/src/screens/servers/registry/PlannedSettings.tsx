import type { RegistryPlan } from '~/api/registry';
import { CodeBlock } from '~/components/CodeBlock';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { DiffView } from '../DiffView';
import css from './registry.module.css';

interface Props {
  plan: RegistryPlan;
  /** The command of the installed version, to compare with. */
  installed?: string;
}

/** What would be written: the command or URL, the variables and headers, and the paths of the sandbox. */
export function PlannedSettings({ plan, installed }: Props) {
  const messages = useMessages();
  if (!plan.isComplete) return null;
  const isRemote = plan.kind === 'remote';
  const variables = Object.entries((plan.settings?.[isRemote ? 'headers' : 'env'] ?? {}) as Record<string, string>);
  return (
    <>
      <div>
        <h4 className={css.label}>{isRemote ? messages.registry.url : messages.registry.command}</h4>
        {installed ? (
          <DiffView text={`- ${installed}\n+ ${plan.command}`} />
        ) : (
          <CodeBlock label={messages.registry.command}>{plan.command}</CodeBlock>
        )}
      </div>
      {variables.length > 0 && (
        <div>
          <h4 className={css.label}>{isRemote ? messages.registry.headers : messages.registry.variables}</h4>
          <CodeBlock label={messages.registry.variables}>
            {variables.map(([name, value]) => `${name}=${value}`).join('\n')}
          </CodeBlock>
        </div>
      )}
      {!plan.isSandboxed && <Notice tone="warning">{messages.registry.noSandbox}</Notice>}
      {!isRemote && plan.isSandboxed && (
        <div>
          <h4 className={css.label}>{messages.registry.grants}</h4>
          {plan.grants.length ? (
            <ul className={css.grants}>
              {plan.grants.map(({ path, canWrite }) => (
                <li key={path}>
                  {canWrite ? messages.registry.canWrite : messages.registry.canRead} <code>{path}</code>
                </li>
              ))}
            </ul>
          ) : (
            <p className={css.muted}>{messages.registry.noGrants}</p>
          )}
        </div>
      )}
    </>
  );
}
