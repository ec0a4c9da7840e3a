import type {
  ChallengeResponse,
  ChallengeSolver,
  ChallengeType,
} from '../../server/certificates/acme/acme.ts'

/** Records challenges and serves none of them. */
export class NullSolver implements ChallengeSolver {
  /** What is shown now. */
  readonly now: ChallengeResponse[] = []
  /** All that ever was. */
  readonly presented: ChallengeResponse[] = []
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

  async present(proof: ChallengeResponse): Promise<void> {
    this.now.push(proof)
    this.presented.push(proof)
    this.shown.resolve()
  }

  async remove(proof: ChallengeResponse): Promise<void> {
    this.now.splice(this.now.indexOf(proof), 1)
  }
}
