// What can be called, to look through and to put into the code.
import { useState } from 'react';
import type { Schemas } from '~/api/client';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Card } from '~/parts/parts';
import css from './playground.module.css';

type Known = Schemas['Signatures']['packs'];

export function Packs({ packs, onInsert }: { packs: Known; onInsert: (text: string) => void }) {
  const words = useWords();
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Card className={css.packs}>
      <h2>{words.playground.packs}</h2>
      <ul>
        {Object.entries(packs).map(([pack, functions]) => (
          <li key={pack}>
            <button type="button" className={css.pack} aria-expanded={open === pack} onClick={() => setOpen(open === pack ? null : pack)}>
              <Icon name={open === pack ? 'down' : 'right'} size={14} /> {pack}
              <span className={css.soft}>{functions.length}</span>
            </button>
            {open === pack && (
              <ul>
                {functions.slice(0, 200).map((one) => (
                  <li key={one.name}>
                    <button type="button" className={css.function} title={one.description} aria-label={words.playground.insert(`${pack}.${one.name}`)} onClick={() => onInsert(`${pack}.${one.name}()`)}>
                      <code>{one.signature}</code>
                      <span className={css.soft}>{one.description}</span>
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
