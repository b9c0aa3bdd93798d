// The head of a bundle: fold, switch, export, delete.
import { ActionIcon, Menu, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'wouter';
import { type Bundle, useDeleteBundle, useSwitchBundle } from '~/api/tools';
import { useWords } from '~/i18n';
import { Confirm } from '~/parts/Confirm';
import { Icon } from '~/parts/Icon';
import { tell, tellFailure } from '~/parts/notify';
import { Tag } from '~/parts/parts';
import { groupVersions, type Held } from './rows';
import css from './tools.module.css';

interface Props {
  bundle: Bundle;
  held: Held | undefined;
  isOpen: boolean;
  onToggle: () => void;
}

export function BundleRow({ bundle, held, isOpen, onToggle }: Props) {
  const words = useWords();
  const switching = useSwitchBundle();
  const name = bundle.displayName || bundle.slug;
  const number = held ? groupVersions(held.tools).length : 0;
  return (
    <div className={css.bundle} data-off={!bundle.isEnabled || undefined}>
      <button type="button" className={css.fold} aria-expanded={isOpen} aria-label={isOpen ? words.tools.fold(name) : words.tools.open(name)} onClick={onToggle}>
        <Icon name={isOpen ? 'down' : 'right'} size={16} />
      </button>
      <div className={css.bundleName}>
        <h2>{name}</h2>
        {bundle.description && <span className={css.soft}>{bundle.description}</span>}
      </div>
      {isOpen && number > 0 && <span className={css.count}>{held?.hasMore ? `${number}+` : words.tools.count(number)}</span>}
      <span className={css.wide}>
        <Tag icon={bundle.isBuiltIn ? 'lock' : undefined}>{words.tools.origin[bundle.origin] ?? bundle.origin}</Tag>
      </span>
      <Switch
        aria-label={words.tools.switchBundle(name)}
        checked={bundle.isEnabled}
        disabled={switching.isPending}
        onChange={(event) => switching.mutate({ id: bundle.id, on: event.currentTarget.checked }, { onError: tellFailure })}
      />
      <Actions bundle={bundle} name={name} />
    </div>
  );
}

function Actions({ bundle, name }: { bundle: Bundle; name: string }) {
  const words = useWords();
  const deleting = useDeleteBundle();
  const [asks, ask] = useDisclosure(false);
  const decline = () => {
    ask.close();
    deleting.reset();
  };
  const gone = () => {
    ask.close();
    tell(words.tools.deleted(name));
  };
  if (bundle.origin !== 'bundle') return <span className={css.noActions} />;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={words.tools.actions(name)}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component={Link} href={`/tools/new?bundle=${bundle.id}`} leftSection={<Icon name="plus" size={15} />}>
            {words.tools.addTool}
          </Menu.Item>
          <Menu.Item component="a" href={`/tools/bundles/${bundle.id}/export`} download={`${bundle.slug}.zip`} leftSection={<Icon name="down" size={15} />}>
            {words.tools.exportZip}
          </Menu.Item>
          <Menu.Item color="red" onClick={ask.open} leftSection={<Icon name="trash" size={15} />}>
            {words.tools.deleteBundle}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={asks}
        title={words.tools.deleteBundleTitle(name)}
        text={words.tools.deleteBundleText}
        busy={deleting.isPending}
        error={deleting.error}
        onConfirm={() => void deleting.mutateAsync(bundle.id).then(gone, () => {})}
        onClose={decline}
      />
    </>
  );
}
