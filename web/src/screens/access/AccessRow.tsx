import { useId, useState } from 'react';
import type { Decision, ToolDecisions } from '~/api/access';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import css from './access.module.css';
import { callerLabel } from './callerLabel';
import { DecisionDetails } from './DecisionDetails';
import { EffectButton } from './EffectButton';

interface Props {
  tool: ToolDecisions;
  /** A decision for each kind of caller, in the order of the columns. */
  columns: Decision[];
}

export function AccessRow({ tool, columns }: Props) {
  const messages = useMessages();
  const id = useId();
  const [openCaller, setOpenCaller] = useState<string | null>(null);
  const find = (caller: string | null) => tool.decisions.find((decision) => decision.caller === caller);
  const shown = find(openCaller);
  return (
    <>
      <tr>
        <th scope="row">
          <ToolName name={tool.name} />
        </th>
        <td className={css.muted} data-label={messages.access.kind}>
          {tool.readOnly ? messages.servers.readOnly : messages.servers.makesChanges}
        </td>
        {columns.map((column) => {
          const { caller } = column;
          const decision = find(caller);
          return (
            <td key={caller} data-label={callerLabel(messages, column)}>
              {decision && (
                <EffectButton
                  tool={tool.name}
                  decision={decision}
                  isOpen={caller === openCaller}
                  controls={id}
                  onToggle={() => setOpenCaller(caller === openCaller ? null : caller)}
                />
              )}
            </td>
          );
        })}
      </tr>
      {shown && (
        <tr className={css.explanation}>
          <td colSpan={columns.length + 2}>
            <DecisionDetails id={id} tool={tool.name} decision={shown} withHeading />
          </td>
        </tr>
      )}
    </>
  );
}
