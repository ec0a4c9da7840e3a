import { registerHooks } from 'node:module'

// Preloaded: prints a line when a package of OpenTelemetry is loaded.
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /\/node_modules\/(@opentelemetry\/[\w-]+)\//.exec(url) ?? []
    if (name !== undefined) process.stdout.write(`${JSON.stringify({ loaded: name })}\n`)
    return nextLoad(url, context)
  },
})
