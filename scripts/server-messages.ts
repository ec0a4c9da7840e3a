/** From the process of a test group to the runner, and from there to the process that starts shared servers. */
export interface ServerRequest {
  kind: 'server'
  name: string
}

/** The answer: where the server listens, or why it did not start. */
export interface ServerReply {
  kind: 'server'
  name: string
  address?: string
  error?: string
}
