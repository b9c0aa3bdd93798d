// URI templates of resources: level 1 to 3 of RFC 6570.

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
const JOINED = { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' } as const;
type Operator = keyof typeof JOINED;

const namesOf = (list: string) => list.split(',').map((name) => name.replace(/(\*|:\d+)$/, ''));

/** Return the names of the variables of a template, each once. */
export function templateNames(template: string): string[] {
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, , list = '']) => namesOf(list));
  return [...new Set(names.filter((name) => name !== ''))];
}

/** Insert values into a template. Variables without a value are omitted. */
export function expandTemplate(template: string, values: Record<string, string>): string {
  return template.replace(EXPRESSION, (_, operator: Operator, list: string) => {
    const isReserved = operator === '+' || operator === '#';
    const encode = (value: string) => (isReserved ? encodeURI(value) : encodeURIComponent(value));
    const isNamed = operator === ';' || operator === '?' || operator === '&';
    const parts = namesOf(list)
      .filter((name) => values[name])
      .map((name) => (isNamed ? `${name}=` : '') + encode(values[name] ?? ''));
    const first = operator === '+' || parts.length === 0 ? '' : operator;
    return first + parts.join(JOINED[operator]);
  });
}
