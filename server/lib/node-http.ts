/**
 * `node:http` without an import: importing it evaluates all its exports, of which `WebSocket` and others load an HTTP
 * client. That takes a tenth of the start time.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http')
