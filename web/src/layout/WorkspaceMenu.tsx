import { Popover } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSession } from '~/api/session';
import { WORKSPACE } from '~/api/workspace';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './layout.module.css';
import { workspacePath } from './workspacePath';

/** The name of the workspace; for a person with several, a button that shows links to the others. */
export function WorkspaceMenu() {
  const texts = useMessages().workspaces;
  const workspaces = useSession().data?.workspaces ?? [];
  const [isOpen, menu] = useDisclosure(false);
  if (!WORKSPACE) return null;
  const slug = WORKSPACE.replace('/w/', '');
  const name = workspaces.find((workspace) => workspace.slug === slug)?.name ?? slug;
  if (!workspaces.some((workspace) => workspace.slug !== slug)) {
    return (
      <p className={css.workspace} title={name}>
        <span>{name}</span>
      </p>
    );
  }
  return (
    // Not in a portal, so that the links follow the button in the order of the page.
    <Popover
      opened={isOpen}
      onChange={menu.set}
      position="bottom-start"
      withRoles={false}
      withinPortal={false}
      transitionProps={{ duration: 0 }}
    >
      <Popover.Target>
        <button
          type="button"
          className={css.workspace}
          aria-label={`${texts.switchTo}: ${name}`}
          aria-expanded={isOpen}
          onClick={menu.toggle}
        >
          <span>{name}</span>
          <Icon name="down" size={15} />
        </button>
      </Popover.Target>
      <Popover.Dropdown p={4}>
        <ul className={css.workspaces} aria-label={texts.yours}>
          {workspaces.map((workspace) => (
            <li key={workspace.slug}>
              <a
                href={workspacePath(workspace.slug)}
                className={css.navLink}
                aria-current={workspace.slug === slug ? 'page' : undefined}
              >
                {workspace.name}
              </a>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}
