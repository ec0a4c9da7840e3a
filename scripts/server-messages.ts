/** From the process of a test group to the runner, and from there to the process that starts shared servers. */
export interface ServerRequest {
  kind: 'server'
  name: string
}

/** From the runner to the process of a test group: what waits for a test that hangs says for what, before the group is ended. */
export interface SilenceMessage {
  kind: 'silent'
}

/** The answer: where the server listens, or why it did not start. */
export interface ServerReply {
  kind: 'server'
  name: string
  address?: string
  error?: string
}
