import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseSync, Visitor } from 'vite'
import type { WriteScope } from '../../server/store/store.ts'
import type { Wrap } from './world.ts'

const root = join(import.meta.dirname, '../..')

/** A call of `Store.write` or `Store.execute` in the sources. */
export interface WriteCall {
  /** `file:line`. */
  site: string
  /** `file function`, where the function has a name. */
  name: string
}

/** All writes of the features: by the durability that is their first argument, or with `deleteInSteps`. */
export function listWrites(): WriteCall[] {
  return globSync('server/**/*.ts', { cwd: root, exclude: ['server/store/**'] }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const functions: { name: string; start: number; end: number }[] = []
    const found: number[] = []
    new Visitor({
      FunctionDeclaration: ({ id, start, end }) => void functions.push({ name: id!.name, start, end }),
      MethodDefinition: ({ key, start, end }) =>
        void functions.push({ name: text.slice(key.start, key.end), start, end }),
      CallExpression({ callee, arguments: [first] }) {
        if (callee.type === 'Identifier' && callee.name === 'deleteInSteps') found.push(callee.start)
        if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
        if (!['write', 'execute'].includes(callee.property.name) || first === undefined) return
        if (
          /^('durable'|'available'|'relaxed'|'unread'|durability)$/.test(text.slice(first.start, first.end))
        )
          found.push(callee.property.start)
      },
    }).visit(parseSync(file, text).program)
    return found.map((at) => ({
      site: `${file}:${text.slice(0, at).split('\n').length}`,
      name: `${file} ${functions.findLast(({ start, end }) => start <= at && at < end)?.name}`,
    }))
  })
}

/** Adds the writes of a node to `seen`. */
export function recordSites(seen: Set<string>): Wrap {
  return (store) => ({
    ...store,
    write: (durability, scope, work) => {
      seen.add(findCaller())
      return store.write(durability, scope, work)
    },
    execute: (durability, ...given) => {
      seen.add(findCaller())
      return store.execute(durability, ...given)
    },
  })
}

const CALLER = /(file:\S*\/server\/(?!store\/store\.ts|lib\/repeat-until-empty\.ts)\S*?):(\d+):\d+/

/** The place in a feature that called the wrapper, itself or with `deleteInSteps`. */
function findCaller(): string {
  const [, url, line] = CALLER.exec(new Error().stack!) ?? []
  return url === undefined ? 'unknown' : `${relative(root, fileURLToPath(url))}:${line}`
}

/** A write of a call: its function, and the names in its scope. */
export interface ScopedWrite {
  name: string
  scope: WriteScope
}

/** Adds the writes of a node to `seen`, in their order. */
export function recordScopes(seen: ScopedWrite[]): Wrap {
  return (store) => ({
    ...store,
    write: (durability, scope, work) => {
      seen.push({ name: findFunction(), scope })
      return store.write(durability, scope, work)
    },
  })
}

/** Passes the writes of others on. */
const WRAPPERS = /\/(?:quotas|publish-queue|concurrency-limiter|job-lease|observe)\.ts/

/** `file function` in `server/` that called the wrapper, also from a function without a name. */
function findFunction(): string {
  const frames = new Error()
    .stack!.split('\n')
    .filter((line) => line.includes(`(${pathToFileURL(root)}/server/`) && !WRAPPERS.test(line))
  const [, method = 'anonymous', file] =
    /at (?:async )?(?:new )?([^\s(]+) .*\(file:.*?\/(server\/[^:]*)/.exec(frames[0]!) ?? []
  return `${file} ${method.split('.').at(-1)}`
}

/** Leaves a kind of names out of the scopes of the writes of a node, or of those of one function. */
export function withoutScope(kind: keyof WriteScope, name?: string): Wrap {
  return (store) => ({
    ...store,
    write: (durability, scope, work) => {
      const { [kind]: _, ...rest } = scope
      const isLeftOut = name === undefined || findFunction() === name
      return store.write(durability, isLeftOut ? rest : scope, work)
    },
  })
}
