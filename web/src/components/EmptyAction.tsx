import { Button } from '@mantine/core';
import { Link } from 'wouter';

/** The button of an empty page that leads to where the first entry is made. */
export function EmptyAction({ href, label }: { href: string; label: string }) {
  return (
    <Button component={Link} href={href} variant="light" mt="xs">
      {label}
    </Button>
  );
}
