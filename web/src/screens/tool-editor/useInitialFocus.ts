import { useEffect, useRef } from 'react';

/** Return a ref for the input of an item. The input gets the focus if the user has just added the item. */
export function useInitialFocus(isNew: boolean) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNew) input.current?.focus();
  }, [isNew]);
  return input;
}
