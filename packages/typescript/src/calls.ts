/** The calls of a test, so that one without `await` is waited for, and its error is not lost. */

/** The promise of a call. It knows whether the test waits for it. */
class Call<Result> extends Promise<Result> {
  private isAwaited = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  override then<Value = Result, Other = never>(
    done?: ((result: Result) => Value | PromiseLike<Value>) | null,
    failed?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Value | Other> {
    this.isAwaited = true;
    return super.then(done, failed);
  }

  /** Waits for its end. Returns the error if the test does not wait for it. */
  end(): Promise<{ error: unknown } | undefined> {
    return super.then(
      () => undefined,
      (error: unknown) => (this.isAwaited ? undefined : { error }),
    );
  }
}

/** The calls that run, and those that failed. */
export class Calls {
  private readonly calls = new Set<Call<unknown>>();

  /** Runs a call. */
  run<Result>(body: () => Promise<Result>): Promise<Result> {
    const call: Call<Result> = new Call<Result>((done, fail) => {
      body().then((result) => {
        this.calls.delete(call);
        done(result);
      }, fail);
    });
    this.calls.add(call);
    return call;
  }

  /** Waits for all calls. Returns the error of the first that failed and that the test does not wait for. */
  async end(): Promise<{ error: unknown } | undefined> {
    const ends = await Promise.all([...this.calls].map((call) => call.end()));
    return ends.find((end) => end !== undefined);
  }

  /** Forgets the calls that failed. */
  clear(): void {
    this.calls.clear();
  }
}
