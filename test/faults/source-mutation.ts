import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Replaces source text of a server module while it loads, to prove that a test harness detects the defect. Use it with
 * `--import`. The server does not start when nothing matches.
 */
export function mutateSource(module: string, pattern: RegExp, replacement: string): void {
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith(module)) return next(url, context)
      const source = readFileSync(fileURLToPath(url), 'utf8')
      if (!pattern.test(source)) throw new Error(`${module} does not match ${pattern}`)
      return {
        format: 'module-typescript',
        shortCircuit: true,
        source: source.replaceAll(pattern, replacement),
      }
    },
  })
}
