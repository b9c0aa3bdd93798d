import { Link } from 'wouter';
import css from './components.module.css';
import { Icon } from './Icon';

export function BackLink({ href, label }: { href: string; label: string }) {
  return (
    <Link href={href} className={css.backLink}>
      <Icon name="left" size={15} /> {label}
    </Link>
  );
}
