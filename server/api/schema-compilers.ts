import { createRequire } from 'node:module'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyServerOptions } from 'fastify'

/** Makes the compiler of one kind of schema from options of Fastify. */
type CompilerFactory = (...options: unknown[]) => (schema: unknown) => Compiled

interface Compiled {
  (value: unknown): unknown
  errors?: unknown
}

/** The compilers that Fastify itself would load. */
const requireFromFastify = createRequire(import.meta.resolve('fastify'))

/**
 * Fastify's compilers of schemas, which load and compile at the first use of a schema: compiling all schemas at the
 * start takes a quarter of the start time.
 */
export class LazySchemaCompilers {
  readonly #schemas: (() => Compiled)[] = []
  /** The option of Fastify. */
  readonly controller = {
    compilersFactory: {
      buildValidator: this.#factory('@fastify/ajv-compiler'),
      buildSerializer: this.#factory('@fastify/fast-json-stringify-compiler'),
    },
  } as NonNullable<FastifyServerOptions['schemaController']>

  /** Compiles what no request has used yet, one schema in each turn of the event loop. */
  async compileAll(): Promise<void> {
    for (const compile of this.#schemas) {
      await turn()
      compile()
    }
  }

  #factory(name: string): CompilerFactory {
    return (...options) => {
      const compiler = once(() => (requireFromFastify(name)() as CompilerFactory)(...options))
      return (schema) => {
        const compiled = once(() => compiler()(schema))
        this.#schemas.push(compiled)
        const run: Compiled = (value) => {
          const result = compiled()(value)
          // Fastify reads the errors of a value from the function that validated it.
          run.errors = compiled().errors
          return result
        }
        return run
      }
    }
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
