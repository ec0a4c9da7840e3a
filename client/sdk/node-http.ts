import { createRequire } from 'node:module'

/**
 * `node:http` without an import: importing it evaluates all its exports, of which `WebSocket` and others load an HTTP
 * client. That takes longer than the rest of Node's start.
 */
export const http = createRequire(import.meta.url)('node:http') as typeof import('node:http')
