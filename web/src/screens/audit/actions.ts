// The actions of the audit log, by the kind of thing that they change.
import type { Messages } from '~/i18n/en';

/** Return the words for an action; for one of a later version, the action itself. */
export function actionLabel({ audit }: Messages, action: string): string {
  return Object.hasOwn(audit.actions, action) ? audit.actions[action as keyof typeof audit.actions] : action;
}

/** Return the choices of the filter: for each kind all of its actions, and each of them. The chosen one is among them. */
export function actionChoices({ audit }: Messages, chosen: string) {
  const actions = Object.entries(audit.actions);
  const groups = Object.entries(audit.kinds).map(([kind, group]) => {
    const items = actions.filter(([action]) => action.startsWith(`${kind}.`));
    return {
      group,
      items: [{ value: kind, label: audit.all(group) }, ...items.map(([value, label]) => ({ value, label }))],
    };
  });
  const isKnown = !chosen || groups.some(({ items }) => items.some(({ value }) => value === chosen));
  return isKnown ? groups : [...groups, { value: chosen, label: chosen }];
}
