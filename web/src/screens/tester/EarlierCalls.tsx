import { useQueryClient } from '@tanstack/react-query';
import { recordedCallQuery, useToolHistory } from '~/api/activity';
import type { Tool } from '~/api/tools';
import { notify, notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import { parseArguments } from '~/screens/activity/recordText';
import { RequestRow } from './RequestRow';
import type { Args } from './useCall';

interface Props {
  tool: Tool;
  /** The calls that are listed already. */
  exclude: ReadonlySet<string>;
  onSelect: (args: Args) => void;
  onRun: (args: Args) => void;
}

/** The latest recorded calls of a tool, from all interfaces. Their arguments are loaded when they are needed. */
export function EarlierCalls({ tool, exclude, onSelect, onRun }: Props) {
  const { locale, messages } = useLanguage();
  const queries = useQueryClient();
  const records = useToolHistory(tool.name).data ?? [];
  const withArgs = async (id: string, use: (args: Args) => void) => {
    try {
      const args = parseArguments((await queries.fetchQuery(recordedCallQuery(id))).arguments);
      if (args === null) notify(messages.activity.incomplete);
      else use(args);
    } catch (error) {
      notifyError(error);
    }
  };
  return records
    .filter(({ id }) => !exclude.has(id))
    .map(({ id, ok, durationMs, endedAt, interface: origin, client }) => {
      const when = new Date(endedAt * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' });
      return (
        <RequestRow
          key={id}
          label={when}
          onSelect={() => void withArgs(id, onSelect)}
          onRun={() => void withArgs(id, onRun)}
        >
          <Tag tone={ok ? 'success' : 'danger'}>{messages.common.duration(durationMs)}</Tag>
          <code>{[origin, client].filter(Boolean).join(' ')}</code>
          <time dateTime={new Date(endedAt * 1000).toISOString()}>{when}</time>
        </RequestRow>
      );
    });
}
