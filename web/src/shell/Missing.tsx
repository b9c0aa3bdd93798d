import { Link } from 'wouter';
import { useWords } from '~/i18n';
import { Empty } from '~/parts/parts';

/** An address at which no screen stands. */
export function Missing() {
  const words = useWords();
  return (
    <Empty title={words.common.notFound}>
      <Link href="/tools">{words.common.home}</Link>
    </Empty>
  );
}
