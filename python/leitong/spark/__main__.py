from leitong.spark import main

if __name__ == "__main__":
    main()
