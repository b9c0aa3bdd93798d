import css from './components.module.css';

/** The meaning that a color conveys. */
export type Tone = 'neutral' | 'success' | 'danger' | 'warning' | 'accent';

export const toneClass = (tone: Tone) => (tone === 'neutral' ? '' : (css[tone] ?? ''));
