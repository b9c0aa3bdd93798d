import type { Tool } from '~/api/tools';

export const toolPath = ({ bundleID, slug }: Pick<Tool, 'bundleID' | 'slug'>) =>
  `/tools/${bundleID}/${encodeURIComponent(slug)}`;
