import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * `node:http` without an import: importing it evaluates all its exports, of which `WebSocket` and others load an HTTP
 * client. That takes longer than the rest of Node's start.
 */
export const http = require('node:http') as typeof import('node:http')

/** `node:https`, loaded when a connection needs TLS: that takes almost as long as the start of Node. */
export function loadHttps(): typeof import('node:https') {
  return require('node:https')
}
