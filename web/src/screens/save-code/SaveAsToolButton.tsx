import { Button } from '@mantine/core';
import { useLocation } from 'wouter';
import { mayMake, useMe } from '~/api/members';
import { WORKSPACE } from '~/api/workspace';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { CodeToSave } from './SaveCode';

/** Opens the page that saves code as a tool, for users who may create tools. */
export function SaveAsToolButton({ code }: { code: string }) {
  const { codeTools } = useMessages();
  const [, navigate] = useLocation();
  const me = useMe().data;
  const state: CodeToSave = { code };
  if (WORKSPACE && !mayMake(me)) return null;
  return (
    <Button
      variant="default"
      leftSection={<Icon name="plus" size={15} />}
      disabled={code.trim() === ''}
      onClick={() => navigate('/tools/save', { state })}
    >
      {codeTools.saveAsTool}
    </Button>
  );
}
