import type { ComponentProps } from 'react';
import { useBundles } from '~/api/tools';
import { QueryView } from '~/components/QueryView';
import { BundleList } from './BundleList';

export function BundleListLoader(props: Omit<ComponentProps<typeof BundleList>, 'bundles'>) {
  const query = useBundles();
  return <QueryView query={query}>{(bundles) => <BundleList bundles={bundles} {...props} />}</QueryView>;
}
