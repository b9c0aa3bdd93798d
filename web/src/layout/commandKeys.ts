// The keys that open the command palette.

export const isMac = (): boolean => navigator.platform.startsWith('Mac');

type Key = Pick<
  KeyboardEvent,
  'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'defaultPrevented' | 'isComposing'
>;

/** Return whether a key opens the palette. `/` is text in fields, and Ctrl-K may mean something to an editor. */
export function isCommandKey(event: Key & { target: EventTarget | null }): boolean {
  if (event.defaultPrevented || event.isComposing || event.altKey) return false;
  if (event.key.toLowerCase() === 'k') return (event.ctrlKey || event.metaKey) && !event.shiftKey;
  return event.key === '/' && !event.ctrlKey && !event.metaKey && !isEditable(event.target);
}

function isEditable(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
