// What the command palette offers besides tools: pages and actions.
import { type Me, mayMake } from '~/api/members';
import type { IconName } from '~/components/Icon';
import type { Messages } from '~/i18n/en';
import { visiblePages } from './pages';

export interface CommandItem {
  id: string;
  icon: IconName;
  label: string;
  /** Other words that find it. */
  keywords: string;
  /** The page to open, or what to do. */
  action: { path: string } | { theme: true } | { language: string };
}

/** Return the pages that a user may see. */
export const pageItems = (messages: Messages, me: Me | undefined): CommandItem[] =>
  visiblePages(me).map(({ page, icon }) => ({
    id: `page-${page}`,
    icon,
    label: messages.nav[page],
    keywords: page,
    action: { path: `/${page}` },
  }));

/** Return the actions that a user may take. Without a user, those of a server with a single one. */
export function actionItems(
  messages: Messages,
  me: Me | undefined,
  languages: Record<string, Pick<Messages, 'name'>>,
): CommandItem[] {
  const { commands } = messages;
  const isMaker = me === undefined || mayMake(me);
  const mayCall = me === undefined || me.rights.includes('call');
  const page = (id: string, icon: IconName, label: string, path: string): CommandItem => ({
    id,
    icon,
    label,
    keywords: id,
    action: { path },
  });
  return [
    ...(mayCall ? [page('new-chat', 'chat', messages.chat.newChat, '/chat')] : []),
    ...(isMaker
      ? [
          page('add-server', 'servers', messages.addServer.title, '/servers?add'),
          page('new-tool', 'plus', messages.tools.newTool, '/tools/new'),
          page('import', 'upload', messages.importer.title, '/tools/import'),
        ]
      : []),
    { id: 'theme', icon: 'moon', label: commands.theme, keywords: 'theme dark light', action: { theme: true } },
    ...Object.entries(languages).map(
      ([language, { name }]): CommandItem => ({
        id: `language-${language}`,
        icon: 'language',
        label: commands.language(name),
        keywords: `language ${language}`,
        action: { language },
      }),
    ),
  ];
}

/** Return the items that contain every word of a text. */
export function matchItems(items: CommandItem[], text: string): CommandItem[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter(({ label, keywords }) => {
    const searched = `${label} ${keywords}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}
