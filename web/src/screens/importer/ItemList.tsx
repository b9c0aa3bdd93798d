import { Notice } from '~/components/Notice';
import type { Tone } from '~/components/tone';
import css from './importer.module.css';

export function ItemList({ title, items, tone }: { title: string; items?: string[]; tone?: Tone }) {
  if (!items?.length) return null;
  return (
    <div className={css.itemList}>
      <Notice tone={tone}>
        <strong>{title}</strong>
        <ul>
          {items.map((item) => (
            <li key={item}>
              <code>{item}</code>
            </li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}
