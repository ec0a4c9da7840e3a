import type { ChallengeType, Proof, Proofs } from '../../server/tls/acme/acme.ts'

/** Proofs that nobody can see. */
export class UnseenProofs implements Proofs {
  /** What is shown now. */
  readonly now: Proof[] = []
  /** All that ever was. */
  readonly presented: Proof[] = []
  readonly askedFor: string[] = []
  /** Resolves with the first one. */
  readonly shown = Promise.withResolvers<void>()
  readonly #types: readonly ChallengeType[]

  /** The preferred type first. */
  constructor(...types: ChallengeType[]) {
    this.#types = types
  }

  types(name: string): readonly ChallengeType[] {
    this.askedFor.push(name)
    return this.#types
  }

  async present(proof: Proof): Promise<void> {
    this.now.push(proof)
    this.presented.push(proof)
    this.shown.resolve()
  }

  async remove(proof: Proof): Promise<void> {
    this.now.splice(this.now.indexOf(proof), 1)
  }
}
