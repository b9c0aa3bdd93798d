import type { Recipe } from './recipe';

/** The props of a group of recipe fields. */
export interface RecipeFieldsProps {
  recipe: Recipe;
  errors: Record<string, string>;
  onChange: (changes: Partial<Recipe>) => void;
}

/** Return the error of a field, at any path in the definition. */
export function fieldError(errors: Record<string, string>, field: string): string | undefined {
  return Object.entries(errors).find(([path]) => path === field || path.endsWith(`.${field}`))?.[1];
}
