/**
 * The document with the target of each `$ref` in its place, whose fields those beside the `$ref` replace. Its references
 * are local and have no cycle.
 */
export function resolveReferences<T extends object>(document: T): T {
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(resolve)
    if ('$ref' in value) {
      const { $ref, ...own } = value
      return { ...(resolve(find(document, String($ref))) as object), ...own }
    }
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner)]))
  }
  return resolve(document) as T
}

/** The value at a reference such as `#/components/schemas/Site`. */
function find(document: object, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document)
}
