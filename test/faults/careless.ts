import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Takes something out of a module of the service as it is loaded: for `--import`, to show that a harness notices.
 * The service does not start when there is nothing to take out.
 */
export function mutateSource(module: string, what: RegExp, instead: string): void {
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith(module)) return next(url, context)
      const source = readFileSync(fileURLToPath(url), 'utf8')
      if (!what.test(source)) throw new Error(`there is no ${what} in ${module} to take out`)
      return { format: 'module-typescript', shortCircuit: true, source: source.replaceAll(what, instead) }
    },
  })
}
