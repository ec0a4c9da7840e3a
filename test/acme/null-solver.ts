import type { ChallengeResponse, ChallengeSolver, ChallengeType } from '../../packages/acme-client/acme.ts'

/** Records challenges and serves none of them. */
export class NullSolver implements ChallengeSolver {
  /** Challenges presented and not removed. */
  readonly active: ChallengeResponse[] = []
  /** All challenges ever presented. */
  readonly presented: ChallengeResponse[] = []
  readonly requestedTypes: string[] = []
  /** Resolves when the first challenge is presented. */
  readonly firstPresented = Promise.withResolvers<void>()
  readonly #types: readonly ChallengeType[]

  /** The preferred type first. */
  constructor(...types: ChallengeType[]) {
    this.#types = types
  }

  types(name: string): readonly ChallengeType[] {
    this.requestedTypes.push(name)
    return this.#types
  }

  async present(proof: ChallengeResponse): Promise<void> {
    this.active.push(proof)
    this.presented.push(proof)
    this.firstPresented.resolve()
  }

  async remove(proof: ChallengeResponse): Promise<void> {
    this.active.splice(this.active.indexOf(proof), 1)
  }
}
