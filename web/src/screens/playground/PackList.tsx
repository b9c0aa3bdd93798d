import { useState } from 'react';
import type { Packs } from '~/api/run';
import { Card } from '~/components/Card';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './playground.module.css';

const MAX_FUNCTIONS = 200;

/** The available packs and their functions. Selecting a function inserts a call into the code. */
export function PackList({ packs, onInsert }: { packs: Packs; onInsert: (text: string) => void }) {
  const messages = useMessages();
  const [expanded, setExpanded] = useState<string | null>(null);
  return (
    <Card className={css.packs}>
      <h2>{messages.playground.packs}</h2>
      <ul>
        {Object.entries(packs).map(([pack, functions]) => (
          <li key={pack}>
            <button
              type="button"
              className={css.pack}
              aria-expanded={expanded === pack}
              onClick={() => setExpanded(expanded === pack ? null : pack)}
            >
              <Icon name={expanded === pack ? 'down' : 'right'} size={14} /> {pack}
              <span className={css.muted}>{functions.length}</span>
            </button>
            {expanded === pack && (
              <ul>
                {functions.slice(0, MAX_FUNCTIONS).map(({ name, signature, description }) => (
                  <li key={name}>
                    <button
                      type="button"
                      className={css.function}
                      title={description}
                      aria-label={messages.playground.insert(`${pack}.${name}`)}
                      onClick={() => onInsert(`${pack}.${name}()`)}
                    >
                      <code>{signature}</code>
                      <span className={css.muted}>{description}</span>
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
