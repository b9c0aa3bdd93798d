import { Button } from '@mantine/core';
import { useLocation } from 'wouter';
import type { ActivityDetails } from '~/api/activity';
import { useToolByName } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { CopyAs } from '~/screens/tester/CopyAs';
import { toolPath } from '~/screens/tools/paths';
import type { PreparedCall } from '~/screens/tools/ToolDetails';
import css from './activity.module.css';
import { parseArguments } from './recordText';

/** Opens the tester with the arguments of a call, and copies the call. Calls nothing by itself. */
export function RecordActions({ call }: { call: ActivityDetails }) {
  const { activity } = useMessages();
  const [, navigate] = useLocation();
  const { data: tool } = useToolByName(call.tool, call.version);
  const args = parseArguments(call.arguments);
  if (args === null) return <p className={css.muted}>{activity.incomplete}</p>;
  if (tool === null) return <p className={css.muted}>{activity.noTool}</p>;
  if (tool === undefined) return null;
  const state: PreparedCall = { args, version: tool.version };
  return (
    <div className={css.actions}>
      <Button
        size="compact-sm"
        variant="light"
        leftSection={<Icon name="play" size={14} />}
        onClick={() => navigate(toolPath(tool), { state })}
      >
        {activity.openTester}
      </Button>
      <CopyAs tool={tool} args={args} />
    </div>
  );
}
