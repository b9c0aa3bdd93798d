/** The bundle, name and version under which a tool is saved. */
export interface Target {
  /** The id of a bundle, or `NEW_BUNDLE`. */
  bundle: string;
  /** The slug of the new bundle. */
  bundleSlug: string;
  slug: string;
  version: string;
}

export const NEW_BUNDLE = 'new';
