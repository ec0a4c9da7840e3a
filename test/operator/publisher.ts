import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { type AnonymousExtras, Slipway, type UpdateResponse } from '../../client/sdk/slipway.ts'
import { received } from '../blobs/bytes.ts'
import type { Program } from './program.ts'

/** A version before its finalize; with claim token and expiry if its site is new and anonymous. */
type Staged = UpdateResponse & Partial<AnonymousExtras> & { versionId: string }

export type Files = Record<string, string | Buffer>

/** A client of a service in another process. */
export class Publisher implements Disposable {
  readonly client: Slipway
  readonly #transport = nodeTransport()

  constructor({ baseUrl }: { baseUrl: string }, key?: string) {
    this.client = new Slipway({ baseUrl, send: this.#transport.send, ...(key === undefined ? {} : { key }) })
  }

  /** Signs in with the code that a service without a mail server prints. */
  static async signIn(program: Program, email: string): Promise<Publisher & { key: string }> {
    using anonymous = new Publisher(program)
    await anonymous.client.requestCode(email)
    const { apiKey } = await anonymous.client.verifyCode(email, await program.mailedCode(email))
    return Object.assign(new Publisher(program, apiKey), { key: apiKey })
  }

  /** Creates or updates a site and uploads all files, without finalize. */
  async stage(files: Files, slug?: string): Promise<Staged> {
    const request = { files: manifest(files) }
    const staged = slug ? await this.client.update(slug, request) : await this.client.create(request)
    for (const target of staged.upload.uploads) await this.client.upload(target, bytes(files[target.path]!))
    return { ...staged, versionId: staged.upload.versionId }
  }

  async publish(files: Files, slug?: string) {
    const staged = await this.stage(files, slug)
    const { versionId } = await this.client.finalize(staged.slug, staged)
    return { slug: staged.slug, versionId }
  }

  [Symbol.dispose](): void {
    this.#transport.close()
  }
}

export function manifest(files: Files) {
  return Object.entries(files).map(([path, content]) => ({
    path,
    size: bytes(content).length,
    contentType: path.endsWith('.html') ? 'text/html' : 'text/plain',
    hash: received(bytes(content)).hash,
  }))
}

function bytes(content: string | Buffer): Buffer {
  return Buffer.from(content as string)
}
