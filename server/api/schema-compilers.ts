import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type CompilerFactory = (shared: unknown, options?: AjvOptions) => (route: RouteSchema) => Compiled

interface AjvOptions {
  customOptions?: object
}

interface RouteSchema {
  schema: unknown
  httpPart?: string
}

interface Compiled {
  (value: unknown): unknown
  errors?: unknown
}

/** The compilers that Fastify itself would load. */
const requireFromFastify = createRequire(import.meta.resolve('fastify'))

/**
 * Loads and compiles a schema at its first use: compiling all takes half a second of CPU time and 11 MB. A query
 * is text: its schema has the types that the text stands for, `true` or `5`, and handlers get the text.
 */
export class LazySchemaCompilers {
  readonly controller = {
    compilersFactory: {
      buildValidator: this.#validators(),
      buildSerializer: this.#factory('@fastify/fast-json-stringify-compiler'),
    },
  } as NonNullable<FastifyServerOptions['schemaController']>

  #validators(): CompilerFactory {
    const factory = this.#factory('@fastify/ajv-compiler')
    return (shared, options = {}) => {
      const compiler = factory(shared, options)
      const customOptions = { ...options.customOptions, coerceTypes: true }
      const ofText = factory(shared, { ...options, customOptions })
      return (route) => {
        if (route.httpPart !== 'querystring') return compiler(route)
        const compiled = ofText(route)
        const run: Compiled = (query) => {
          // A validator that converts types changes the object that it gets.
          const values = { ...(query as object) }
          // The conversion of 1e400 gives Infinity, which is no number of JSON and is compared with no limit.
          return compiled(values) && compiled(values)
        }
        return withErrorsOf(() => compiled, run)
      }
    }
  }

  #factory(name: string): CompilerFactory {
    return (...options) => {
      const compiler = once(() => (requireFromFastify(name)() as CompilerFactory)(...options))
      return (route) => {
        const compiled = once(() => compiler()(route))
        return withErrorsOf(compiled, (value) => compiled()(value))
      }
    }
  }
}

/** Fastify reads the errors of a value from the function that validated it. */
function withErrorsOf(compiled: () => Compiled, run: Compiled): Compiled {
  return Object.defineProperty(run, 'errors', { get: () => compiled().errors })
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
