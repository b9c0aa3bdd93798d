import { useId, useState } from 'react';
import { type Decision, useToolDecisions } from '~/api/access';
import { Card } from '~/components/Card';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import css from './access.module.css';
import { callerLabel } from './callerLabel';
import { DecisionDetails } from './DecisionDetails';
import { EffectButton } from './EffectButton';

/** What each kind of caller may do with one tool. `version` is a name, or `name@version`. */
export function DecisionList({ tool, version }: { tool: string; version: string }) {
  const messages = useMessages();
  return (
    <Card>
      <QueryView query={useToolDecisions(version)}>
        {({ decisions }) => (
          <ul className={css.list} aria-label={messages.access.title}>
            {decisions.map((decision) => (
              <DecisionItem key={decision.caller} tool={tool} decision={decision} />
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}

function DecisionItem({ tool, decision }: { tool: string; decision: Decision }) {
  const messages = useMessages();
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <span>{callerLabel(messages, decision)}</span>
      <EffectButton
        tool={tool}
        decision={decision}
        isOpen={isOpen}
        controls={id}
        onToggle={() => setIsOpen((open) => !open)}
      />
      {isOpen && <DecisionDetails id={id} tool={tool} decision={decision} />}
    </li>
  );
}
