// The arguments of a tool, one by one.
type JsonObject = Record<string, unknown>;

export interface ToolArgument {
  name: string;
  isRequired: boolean;
  description: string;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const propertiesOf = (schema: object): JsonObject => {
  const { properties } = schema as { properties?: unknown };
  return isObject(properties) ? properties : {};
};

/** List the arguments of a tool, required ones first, and the others that a step has. */
export function toolArguments(schema: object, others: string[]): ToolArgument[] {
  const properties = propertiesOf(schema);
  const { required } = schema as { required?: unknown };
  const requiredNames = Array.isArray(required) ? required : [];
  const names = [...new Set([...Object.keys(properties), ...others])];
  const all = names.map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const description = isObject(property) && typeof property.description === 'string' ? property.description : '';
    return { name, isRequired: requiredNames.includes(name), description };
  });
  return [...all.filter(({ isRequired }) => isRequired), ...all.filter(({ isRequired }) => !isRequired)];
}

/** Return the schema of one argument of a tool as an object, for a form with one field. */
export function argumentSchema(schema: object, name: string, title: string): object {
  const properties = propertiesOf(schema);
  const property = Object.hasOwn(properties, name) ? properties[name] : {};
  const field = { ...(isObject(property) ? property : {}), title, description: undefined };
  return { ...schema, properties: { [name]: field }, required: [] };
}
