import { ActionIcon, Button, Switch, TextInput } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { Grant } from './serverFields';
import css from './servers.module.css';

interface Props {
  grants: Grant[];
  onChange: (grants: Grant[]) => void;
}

/** Files and directories that a server may access in its sandbox. */
export function GrantFields({ grants, onChange }: Props) {
  const messages = useMessages();
  const texts = messages.editServer;
  const update = (index: number, grant: Grant) => onChange(grants.map((old, at) => (at === index ? grant : old)));
  return (
    <fieldset className={css.grants}>
      <legend>{texts.paths}</legend>
      {grants.map((grant, index) => (
        <div key={index} className={css.grant}>
          <TextInput
            aria-label={`${texts.path} ${index + 1}`}
            value={grant.path}
            onChange={(event) => update(index, { ...grant, path: event.currentTarget.value })}
          />
          <Switch
            label={texts.write}
            checked={grant.write === true}
            onChange={(event) =>
              update(index, { path: grant.path, ...(event.currentTarget.checked ? { write: true } : {}) })
            }
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={messages.common.removeItem(index + 1)}
            onClick={() => onChange(grants.filter((_, at) => at !== index))}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
      ))}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Icon name="plus" size={14} />}
        onClick={() => onChange([...grants, { path: '' }])}
      >
        {texts.addPath}
      </Button>
    </fieldset>
  );
}
