import { parseSync, Visitor } from 'vite'

/** Offsets in the source. */
export interface Range {
  start: number
  end: number
}

/** The name of code outside of functions. */
export const MODULE = 'module'

/**
 * Where the code of a mutation stands: in the function of this name, or in a method as `Class.method`. Formatting does not
 * matter. Throws when it does not stand there exactly once.
 */
export function locate(source: { path: string; text: string }, name: string, code: string): Range {
  const found = findFunctions(source)
    .filter((one) => one.name === name)
    .flatMap((one) => findCode(source.text, one, code))
  const places = found.filter(({ start }, at) => found.findIndex((one) => one.start === start) === at)
  if (places.length === 1) return places[0]!
  throw new Error(`${source.path}: ${name} has this ${places.length} times: ${code}`)
}

interface NamedRange extends Range {
  name: string
}

/** The functions of a file with a name, its constants, its members of classes, and the file itself. */
export function findFunctions({ path, text }: { path: string; text: string }): NamedRange[] {
  const classes: NamedRange[] = []
  const found: NamedRange[] = [{ name: MODULE, start: 0, end: text.length }]
  const functions: Range[] = []
  const isWithin = (node: Range, ranges: readonly Range[]) =>
    ranges.some(({ start, end }) => start < node.start && node.end <= end)
  const add = (name: string, { start, end }: Range) => void found.push({ name, start, end })
  const addMember = (node: Range & { key: Range }) => {
    const owner = classes.findLast((one) => one.start <= node.start && node.end <= one.end)
    const name = text.slice(node.key.start, node.key.end)
    add(owner ? `${owner.name}.${name}` : name, node)
  }
  new Visitor({
    ClassDeclaration: ({ id, start, end }) => void classes.push({ name: id?.name ?? 'default', start, end }),
    FunctionDeclaration(node) {
      add(node.id?.name ?? 'default', node)
      functions.push(node)
    },
    FunctionExpression: (node) => void functions.push(node),
    ArrowFunctionExpression: (node) => void functions.push(node),
    VariableDeclarator(node) {
      if (node.id.type !== 'Identifier') return
      if (isFunction(node.init) || !isWithin(node, functions)) add(node.id.name, node)
    },
    MethodDefinition: addMember,
    PropertyDefinition: addMember,
    Property(node) {
      if (node.key.type === 'Identifier' && isFunction(node.value)) add(node.key.name, node)
    },
  }).visit(parseSync(path, text).program)
  return found
}

function isFunction(node: { type: string } | null | undefined): boolean {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression'
}

/** All places in a range whose text is that code, apart from white space. */
function findCode(text: string, { start, end }: Range, code: string): Range[] {
  const offsets: number[] = []
  let dense = ''
  for (let at = start; at < end; at++) {
    if (/\s/.test(text[at]!)) continue
    offsets.push(at)
    dense += text[at]
  }
  const wanted = code.replaceAll(/\s/g, '')
  const found: Range[] = []
  for (let at = dense.indexOf(wanted); at >= 0; at = dense.indexOf(wanted, at + 1))
    found.push({ start: offsets[at]!, end: offsets[at + wanted.length - 1]! + 1 })
  return found
}
