type Fields = Record<string, unknown>;

/** Return the values that a form starts with: the defaults, and false for required boxes without a default. */
export function initialAnswer(schema: object): Fields {
  const { properties, required } = schema as { properties?: unknown; required?: unknown };
  const answer: Fields = {};
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    if (!isObject(property)) continue;
    const isRequired = Array.isArray(required) && required.includes(name);
    if (property.default !== undefined && property.default !== null) answer[name] = property.default;
    else if (property.type === 'boolean' && isRequired) answer[name] = false;
  }
  return answer;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
