import { lazy, Suspense, useEffect, useState } from 'react';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { isCommandKey, isMac } from './commandKeys';
import css from './layout.module.css';

const loadPalette = () => import('./CommandPalette');
const CommandPalette = lazy(loadPalette);

/** Opens the command palette: by a click, Ctrl-K, Cmd-K, or `/` outside of text fields. */
export function CommandButton() {
  const { commands } = useMessages();
  const [isOpen, setOpen] = useState(false);
  // The palette is rendered when it is first opened, and stays for its closing transition.
  const [isLoaded, setLoaded] = useState(false);
  const open = () => {
    setLoaded(true);
    setOpen(true);
  };
  useEffect(() => {
    const handleKey = (event: KeyboardEvent) => {
      if (!isCommandKey(event) || document.querySelector('[role="dialog"]')) return;
      event.preventDefault();
      setLoaded(true);
      setOpen(true);
    };
    addEventListener('keydown', handleKey);
    // What is typed right after the keys must reach it.
    setTimeout(() => void loadPalette().catch(() => undefined), 1000);
    return () => removeEventListener('keydown', handleKey);
  }, []);
  return (
    <>
      <button type="button" className={css.commandButton} aria-haspopup="dialog" onClick={open}>
        <Icon name="search" size={16} /> <span>{commands.open}</span>
        <kbd>{isMac() ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      {isLoaded && (
        <Suspense>
          <CommandPalette opened={isOpen} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
